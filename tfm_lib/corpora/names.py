"""Names of people and places that are spelt the same in English and in French, for training a translator."""

MEN = """
Aapo Aitor Akseli Alban Aldous Alvar Ambrus Amets Andoni Andri Anselm Arno Arvo Asier Azamat Balint Bartal Bedwyr
Beñat Bekim Birger Bjarki Bogdan Borja Branko Cai Caradoc Cedric Chidi Cledwyn Corentin Cosmin Dafydd Dag
Damir Danilo Denzil Derwyn Dimka Dorin Dragan Drystan Ebbe Edwy Egil Eirik Elouan Emeka Endre Eneko Erlend
Ernst Esteve Evander Faruk Fedde Felipe Ferenc Fidel Finnian Florin Fodor Folke Fulbert Gael Garth Gaspard Gero Gethin
Giorgi Goran Gorka Gregor Gunnar Gwilym Halvor Haruki Hemi Horst Ibai Ifan Igor Ikaika Ilmari Imanol Imre Indro Inigo
Irakli Ivo Jaakko Jaan Jabari Janek Jarno Jeroen Joachim Jokin Jorik Josip Jovan Kaarel Kacper Kalev Karsten Kasper
Kauri Keanu Kepa Kerim Kimball Kofi Kresimir Kristjan Kyrill Ladislav Lajos Lambert Lars Leander Lennart Levan
Llewelyn Lorand Lothar Luca Luka Maddox Magnus Malik Manfred Marek Matthis Mikel Milan Milos Modest Nabil Nestor
Niall Niko Nuno Obi Oisin Oleg Olaf Onni Orest Osian Otis Paavo Padraig Pavel Pelle Petru Piet Piran Quentin Quim Radek
Rafal Raimo Rainer Ramzi Rhodri Rikard Rocco Roland Ruben Rufus Sandor Sander Selim Seppo Sergi Silvan Simao Soren
Stellan Stig Sven Tadeus Tama Tarek Taavi Teodor Thabo Tibor Tiago Toomas Torben Tudor Txomin Ulf Ulrich Umut Urban
Valdis Vasco Viggo Vito Vuk Waldemar Wendel Wiktor Wim Xabier Xavi Yannick Yorick Zakari Zdenek Zsolt
""".split()

WOMEN = """
Aada Adela Agata Agnieszka Aiko Ainhoa Alazne Almut Alva Amaia Amara Anahit Anneli Annika Antje Arantxa Asta
Astrid Aud Aurelie Ayaan Azra Beatrix Berenike Birgit Blathnaid Bodil Branka Branwen Britta Bronagh Carys
Cerys Chiara Chioma Ciara Constanze Cordula Dagmar Dagny Danica Daria Delphine Dilara Dinara Dorothea Dragana Drita
Ebba Edda Edurne Eilidh Eira Eleri Elif Elke Emilija Enni Esra Eszter Eulalie Eunike Fadime Fatou Fenna Filippa
Fionnuala Frauke Freydis Frida Gerda Gintare Gitte Goizane Greta Gudrun Gulnara Gunvor Gwenda Halina Hedda Heidrun
Helka Hinemoa Idoia Ilke Ilse Imke Inga Ingrid Iratxe Iris Irja Itziar Ivana Jadwiga Jana Jannike Jelena Jitka
Jolana Judit Kaisa Kalina Karin Katarzyna Katinka Keziah Kirsten Klara Klaudia Ksenia Laima Leire Lene Leonie
Liesl Lilja Linnea Livia Lorea Lotte Ludmila Maarit Madlen Magda Maite Malin Manon Marika Marit Marwa Matilda Merete
Meritxell Milena Mirela Miren Mirjam Nadja Naia Nele Nerys Nkechi Noor Nuala Oihane Oksana Olwen Ornella Paloma
Pernille Petra Pilar Pilvi Rasa Raffaella Rhian Rikke Romy Roswitha Rukmini Runa Saffron Saoirse Sanne Selma
Senta Sibyl Signe Sigrid Silke Sini Siv Solveig Svetlana Tanja Tereza Thandi Tilda Tiina Tuva Ulla Ulrike
Una Ursula Vanja Velma Verena Vesna Viveka Wanda Wiebke Winona Xenia Yaiza Ylva Ysolde Zaira Zita Zuzana
""".split()

FAMILIES = """
Abara Achterberg Aguirre Ahlgren Aldecoa Almqvist Amadi Amsel Andrade Appiah Arbeloa Armitage Arnason Asante Ashdown
Auerbach Aznar Babic Baird Bakker Balogun Barandiaran Bartok Bechtel Beckwith Beaumont Berglund Bjornson Blaszczyk
Blythe Bodnar Bogaert Boateng Borkowski Bracewell Brandvold Brockhaus Bruun Burgess Caddick Cardew Carmody Castell
Chukwu Cieslak Coetzee Colquhoun Cragg Csonka Dabrowski Dahlberg Danquah Delacroix Demir Desmet Devereux Diallo
Dlamini Dobos Donoghue Dragovic Drummond Dufresne Dunleavy Ebersole Echeverria Edeland Egede Ekholm Elgar Elizondo
Engstrom Erdogan Escobar Eskildsen Etcheverry Fairweather Farkas Ferrante Fjeldstad Forsyth Fraser Frobisher
Gadomski Garmendia Gautier Gerritsen Glasgow Goikoetxea Gorecki Grimaldi Gruber Gulbrandsen Gustavsson
Hadzic Haraldsen Hartigan Haugen Heikkinen Hendricks Heyerdahl Hoekstra Hollis Horvat Huxtable Ibarra Ilves Iversen
Jagger Jankovic Jarvinen Jelinek Jorgensen Kaczmarek Kallio Kamara Karlsen Kavanagh Keane Kekkonen Kimura Kingsley
Kirchner Kivela Kloster Kolesnik Korhonen Kosta Kozak Kralj Kristensen Kuusisto Laakso Lagerlof Langley Larrabee
Laskaris Laurier Legrand Lovell Lundgren Lykke Macaulay Makinen Malinowski Mbeki Marchetti Matsuda
Mendizabal Merrick Mikkelsen Molnar Montclair Mortensen Mulder Nagel Nakagawa Navratil Neuhaus Niemi Nordahl Novotny
Nwosu Obiang Odermatt Ojeda Okafor Olafsen Onderdonk Orban Osborne Ostrowski Otxoa Paasilinna Palacios Papadakis
Pelletier Penhaligon Petrenko Pfeiffer Pokorny Prentice Quarmby Quispe Raabe Radcliffe Rasmussen Redfern Reinholt
Ridgeway Rosenqvist Rautavaara Saarinen Salonen Sandoval Savchuk Schuyler Sefton Sillitoe Skarsgard Sokolov Solberg
Stavros Strand Sullivan Svensson Szabo Takacs Tamm Tennant Toivonen Tregenza Tuominen Ulmanis Unwin Urrutia
Vaananen Valtonen Vandenberg Varga Veldkamp Vestergaard Virtanen Vogel Wadsworth Wallenberg Weatherby Westergaard
Whitlock Wieczorek Winterbottom Wojcik Wyndham Xanthos Yilmaz Yoxall Zabala Zelenka Zubiri
""".split()

PLACES = """
Aarhus Abuja Adelaide Almere Alta Amiens Ancona Annecy Antibes Arles Arendal Asuncion Auckland Aveiro Avignon Baku
Bayonne Bergen Bilbao Bodrum Bogota Bordeaux Boulder Braga Bratislava Breda Brest Brisbane Bristol Calgary Calais
Cardiff Cartagena Caracas Chartres Colmar Cotonou Cuzco Dakar Darmstadt Daugavpils Debrecen Delft Denver Dijon Dortmund
Douala Dundee Durban Eger Eindhoven Erfurt Esbjerg Espoo Essen Evora Exeter Fargo Ferrol Fes Gander Gdynia Gera Gijon
Girona Grenoble Groningen Haarlem Halifax Hamar Harstad Hasselt Houston Izmir Jena Juneau Kampala Kassel Kaunas Kigali
Kiruna Kiel Kolding Kotka Lahti Lagos Leeds Leiden Lens Leipzig Liepaja Lille Lima Limerick Linz Lodz Lubumbashi Lund
Maputo Malaga Manaus Maribor Memphis Metz Mombasa Montpellier Montreux Mostar Munster Nairobi Namur Nantes Narvik
Nijmegen Nelson Nottingham Novi Odense Ohrid Oran Orlando Oslo Ostrava Otago Oulu Pamplona Parma Pau Perth Plovdiv
Porto Poznan Quimper Rabat Ravenna Reims Rennes Riga Rostock Rotterdam Rouen Salta Santander Sarajevo Skopje Sfax
Sheffield Sligo Split Stavanger Szeged Tampere Tarbes Tartu Telemark Tilburg Toronto Toulouse Trieste Tromso Turku Tulsa
Ulm Utrecht Umea Vaasa Valletta Vannes Varberg Verona Vigo Vilnius Waterford Windhoek Wuppertal Yaren Zadar Zagreb Zwolle
""".split()

NAMES = frozenset([*MEN, *WOMEN, *FAMILIES, *PLACES])
